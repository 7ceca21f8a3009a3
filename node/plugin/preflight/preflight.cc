#include "node/plugin/preflight/preflight.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <utility>

namespace plugin {

namespace {

std::string Hex(std::uint32_t number) {
  constexpr int kBase = 16;
  std::array<char, 8> digits = {};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, kBase);
  return "0x" + std::string(digits.data(), end.ptr);
}

class Checks {
 public:
  explicit Checks(const NodeProbe& found) : found_(found) {}

  std::vector<Finding> Take() {
    Driver();
    Fabric();
    found_.host_managed ? ImexOfHost() : ImexOfDaemons();
    dra::AddContainers(found_.cdi_trouble, found_.runtime, findings_);
    return std::move(findings_);
  }

 private:
  void Add(bool stops, std::string text) {
    findings_.push_back({.stops = stops, .text = std::move(text)});
  }
  void Stop(std::string text) { Add(true, std::move(text)); }
  void Note(std::string text) { Add(false, std::move(text)); }

  void Driver() {
    if (!found_.library_trouble.empty()) {
      Stop("NVIDIA's driver: " + found_.library_trouble + "; its root on the host is " +
           found_.driver_root +
           " here: install the driver, or say where it is, NVIDIA_DRIVER_ROOT, and mount that");
    } else if (!found_.host_managed && !nvml::KnowsNames(found_.driver_version)) {
      // Daemons pass peers to IMEX by name.
      Stop("NVIDIA's driver is " + found_.driver_version +
           ", whose IMEX does not know its peers by names: install 570.158.01 or later");
    }
    if (!found_.host_managed && !found_.files_trouble.empty()) Stop(found_.files_trouble);
    if (!found_.has_channels) {
      Stop(
          "IMEX channels: /proc/devices has no nvidia-caps-imex-channels: load the kernel module "
          "nvidia, of a driver that has them (modprobe nvidia)");
    }
  }

  void Fabric() {
    if (found_.fabric == NodeProbe::Fabric::kForming) {
      Note("NVLink fabric: " + found_.fabric_trouble + "; the plugin waits for it");
    }
    if (found_.fabric == NodeProbe::Fabric::kBroken) {
      Note("NVLink fabric: " + found_.fabric_trouble +
           "; nothing new is placed here until this is fixed");
    }
    if (!found_.fabric_health.empty()) {
      Note("NVLink fabric: NVML reports " + found_.fabric_health +
           "; jobs may be slow or fail: look at the switches and the driver's log (dmesg)");
    }
  }

  void ImexOfDaemons() {
    const std::string version = found_.driver_version.empty() ? "" : " " + found_.driver_version;
    // Without a fabric, daemons do not run IMEX.
    if (found_.fabric == NodeProbe::Fabric::kNone) return;
    if (found_.runs_on_host) {
      Stop(
          "IMEX runs on the host, as nvidia-imex.service, and a domain's daemon cannot run beside "
          "it: systemctl disable --now nvidia-imex.service (or have all domains use that one: "
          "IMEX_MODE=hostManaged, here and for the controller)");
    }
    if (!found_.has_imex || !found_.has_ctl) {
      const std::string missing = found_.has_imex  ? "nvidia-imex-ctl is"
                                  : found_.has_ctl ? "nvidia-imex is"
                                                   : "nvidia-imex and nvidia-imex-ctl are";
      // A fabric that never completes, as in some modes of the fabric manager, needs no IMEX.
      const bool may_do_without = found_.fabric == NodeProbe::Fabric::kForming;
      Add(!may_do_without,
          "IMEX: " + missing + " not under the driver's root, " + found_.driver_root +
              " of the host: install NVIDIA's package nvidia-imex there, of the driver's version" +
              version);
    } else if (!found_.imex_version.empty() && !found_.driver_version.empty() &&
               found_.imex_version != found_.driver_version) {
      Note(
          "IMEX is " + found_.imex_version + " and the driver" + version +
          ": NVIDIA supports only equal versions: install the nvidia-imex of the driver's version");
    }
    if (found_.library_trouble.empty() && !found_.has_management) {
      Note(
          "IMEX: the driver has no capability fabric-imex-mgmt "
          "(/proc/driver/nvidia/capabilities), without which daemons cannot manage channels: look "
          "at the driver's log (dmesg)");
    }
  }

  void ImexOfHost() {
    if (!found_.has_ctl) {
      Stop("IMEX: nvidia-imex-ctl is not under the driver's root, " + found_.driver_root +
           " of the host: the plugin asks IMEX of the host by it; install NVIDIA's package "
           "nvidia-imex there");
    }
    if (!found_.has_socket) {
      Note(
          "IMEX of the host does not listen on " + found_.imex_socket +
          ": start nvidia-imex.service with IMEX_CMD_UNIX_DOMAIN_PATH set to that; pods wait until "
          "it does");
    }
  }

  const NodeProbe& found_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> Preflight(const NodeProbe& found) {
  return dra::Settled(Checks(found).Take(), found.has_prepared);
}

std::vector<std::string> FactsOf(const NodeProbe& found) {
  std::vector<std::string> facts;
  const auto add = [&facts](const char* name, const std::string& value) {
    if (!value.empty()) facts.push_back(std::string(name) + ": " + value);
  };
  add("library", found.library);
  add("driver", found.driver_version);
  add("imex", found.imex_version);
  for (const nvml::Fabric& gpu : found.fabrics) {
    facts.push_back("gpu " + std::to_string(gpu.gpu) + ": state " +
                    std::to_string(static_cast<int>(gpu.state)) + ", status " +
                    std::to_string(gpu.status) + ", clique " + nvml::NameOf(gpu) + ", health " +
                    Hex(gpu.health));
  }
  add("trouble", found.library_trouble);
  return facts;
}

std::string ImexVersionIn(std::string_view output) {
  constexpr std::string_view kOfVersions = "0123456789.";
  while (!output.empty()) {
    const std::size_t begin = output.find_first_of(kOfVersions);
    if (begin == std::string_view::npos) return {};
    output.remove_prefix(begin);
    const std::string_view word = output.substr(0, output.find_first_not_of(kOfVersions));
    if (word.front() != '.' && word.find('.') != std::string_view::npos && word.back() != '.') {
      return std::string(word);
    }
    output.remove_prefix(word.size());
  }
  return {};
}

}  // namespace plugin
