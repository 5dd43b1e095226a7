import { decodePercent } from "../agent/text/url-passwords.ts";

/**
 * The headers in `OTEL_EXPORTER_OTLP_HEADERS`: pairs of `name=value` between commas, the values percent-encoded
 * (https://opentelemetry.io/docs/specs/otel/protocol/exporter/). What is no pair is left out.
 */
export function collectorHeaders(text = ""): Record<string, string> {
  const pairs = text.split(",").flatMap((pair) => {
    const [, name, value] = /^\s*([^=\s]+)\s*=\s*(.*?)\s*$/.exec(pair) ?? [];
    return name && value ? [[name, decodePercent(value)] as const] : [];
  });
  return Object.fromEntries(pairs);
}
