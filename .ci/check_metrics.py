"""Checks /metrics with the parser of prometheus_client, which is strict about OpenMetrics, and the memory of the sample."""

import json
import sys
import urllib.request

from prometheus_client.openmetrics.parser import text_string_to_metric_families

base_url, admin_url = sys.argv[1:3]


def get(url, data=None, headers=None):
    request = urllib.request.Request(url, data=data, headers=headers or {})
    with urllib.request.urlopen(request, timeout=10) as response:
        return response.headers["Content-Type"], response.read().decode()


for path in ("/reviews.json", "/api/reviews/search?query=will", "/?query=will", "/healthz"):
    get(base_url + path)
call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "get_business", "arguments": {}}}
get(base_url + "/mcp", json.dumps(call).encode(), {"Content-Type": "application/json"})

media_type, text = get(admin_url + "/metrics")
assert media_type == "application/openmetrics-text; version=1.0.0; charset=utf-8", media_type
families = {family.name: family for family in text_string_to_metric_families(text)}


def value(name, **labels):
    family = next(families[known] for known in families if name.startswith(known) and any(
        sample.name == name for sample in families[known].samples))
    return next(sample.value for sample in family.samples if sample.name == name and sample.labels == labels)


assert value("reviewd_http_requests_total", route="/reviews.json", status="2xx") == 1
assert value("reviewd_http_requests_total", route="/api/reviews/search", status="2xx") == 1
assert value("reviewd_mcp_tool_calls_total", tool="get_business") == 1
assert value("reviewd_http_request_duration_seconds_count", route="/healthz") == 1
# docs/deploying.md: some 60 MiB. More cores have more threads, so the limit leaves room.
resident_mib = value("process_resident_memory_bytes") / 2**20
assert resident_mib < 90, f"the sample needs {resident_mib:.0f} MiB"
samples = sum(len(family.samples) for family in families.values())
print(f"{len(families)} families, {samples} samples, {len(text)} bytes: OpenMetrics 1.0; {resident_mib:.0f} MiB of memory")
