"""Colors of a site as its style sheets give them, and their contrast as WCAG computes it."""

import colorsys
import re

COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
DECLARATION = re.compile(r"([\w-]+)\s*:\s*([^;]+)")


def blend(front, back):
    """What one sees of a color with an opacity before an opaque color."""
    *channels, opacity = front
    return (*(opacity * one + (1 - opacity) * other for one, other in zip(channels, back)), 1)


def luminance(color):
    red, green, blue = (one / 12.92 if one <= 0.03928 else ((one + 0.055) / 1.055) ** 2.4 for one in color[:3])
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(text, ground):
    dark, light = sorted((luminance(blend(text, ground)), luminance(ground)))
    return (light + 0.05) / (dark + 0.05)


def parsed(text):
    """Red, green, blue and opacity from 0 to 1."""
    if text == "transparent":
        return (0, 0, 0, 0)
    if text.startswith("#"):
        digits = text[1:] if len(text) > 4 else "".join(2 * one for one in text[1:])
        return (*(int(digits[at:at + 2], 16) / 255 for at in (0, 2, 4)), 1)
    kind, values = re.fullmatch(r"(rgb|hsl)a?\((.*)\)", text).groups()
    first, second, third, *opacity = (float(one.strip(" %")) for one in values.split(","))
    if kind == "rgb":
        channels = first / 255, second / 255, third / 255
    else:
        channels = colorsys.hls_to_rgb(first / 360, third / 100, second / 100)
    return (*channels, *(opacity or [1]))


def darkened(color, page):
    """What `filter: invert(1) hue-rotate(180deg)` and `mix-blend-mode: screen` make of an opaque color on a page."""
    red, green, blue = (1 - one for one in color[:3])
    rows = (-0.574, 1.43, 0.144), (0.426, 0.43, 0.144), (0.426, 1.43, -0.856)
    channels = (min(1, max(0, a * red + b * green + c * blue)) for a, b, c in rows)
    return (*(1 - (1 - one) * (1 - other) for one, other in zip(channels, page)), 1)


class Scheme:
    """What style sheets, in the order in which a page links them, say of a page whose body has these attributes."""

    def __init__(self, css, attributes):
        self.rules = [({one.strip().replace('"', "") for one in selectors.split(",")}, dict(DECLARATION.findall(body)))
                      for selectors, body in RULE.findall(COMMENT.sub("", css))]
        self.variables = {}
        for level in ({":root"}, {":root>*", "body", *(f"[{one}]".replace('"', "") for one in attributes)}):
            for selectors, body in self.rules:
                if level & selectors:
                    self.variables.update(body)

    def said(self, selector, name):
        """The last value of a property in the rules of this selector."""
        return [body[name] for selectors, body in self.rules if selector in selectors and name in body][-1]

    def color(self, value):
        while "var(" in value:
            value = re.sub(r"var\((--[\w-]+)\)", lambda found: self.variables[found[1]], value)
        return parsed(value.strip())

    def ground(self, *selectors):
        """The color behind a text: of these elements, each before the last, and of the page."""
        color = self.color("var(--md-default-bg-color)")
        for selector in selectors:
            color = blend(self.color(self.said(selector, "background-color")), color)
        return color
