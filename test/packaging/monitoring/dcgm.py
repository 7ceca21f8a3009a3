#!/usr/bin/python3
"""Stands in for NVIDIA's DCGM exporters: of each node in a file the use of its GPUs, as Prometheus' text.

  dcgm.py FILE    lines "node percent"; it is read at each scrape. Prints the port on the loopback that it serves.

The exporter of a real node serves that node alone; here one serves them all, which rules that join by Hostname do not notice.
"""

import http.server
import sys

GPUS = 4


def text(path):
    lines = ["# HELP DCGM_FI_DEV_GPU_UTIL GPU utilization (in %).", "# TYPE DCGM_FI_DEV_GPU_UTIL gauge"]
    with open(path, encoding="utf-8") as file:
        for node, percent in map(str.split, file):
            for gpu in range(GPUS):
                labels = (
                    f'gpu="{gpu}",UUID="GPU-{node}-{gpu}",device="nvidia{gpu}",modelName="NVIDIA GB200",Hostname="{node}",'
                    f'DCGM_FI_DRIVER_VERSION="580.00",namespace="gpu-operator",pod="dcgm-{node}"'
                )
                lines.append(f"DCGM_FI_DEV_GPU_UTIL{{{labels}}} {percent}")
    return "\n".join(lines) + "\n"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):  # noqa: N802
        body = text(sys.argv[1]).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
