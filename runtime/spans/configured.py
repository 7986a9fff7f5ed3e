"""Whether spans are wanted: OpenTelemetry's own variables say so, and nothing of ours."""

import os
from collections.abc import Mapping
from typing import Final

ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PROTOCOLS: Final = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_HTTP: Final = "http/protobuf"


def collector(environment: Mapping[str, str] | None = None) -> str | None:
    """Return the collector's address, unless spans are switched off or none is given."""
    given = os.environ if environment is None else environment
    if given.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return None
    if given.get("OTEL_TRACES_EXPORTER", "otlp") != "otlp":
        return None
    return next((given[name] for name in ENDPOINTS if given.get(name)), None)


def other_protocol(environment: Mapping[str, str] | None = None) -> str | None:
    """Return the protocol that is asked for, if it is one that spans are not sent by."""
    given = os.environ if environment is None else environment
    asked = next((given[name] for name in _PROTOCOLS if given.get(name)), _HTTP)
    return None if asked == _HTTP else asked
