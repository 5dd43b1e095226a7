/** Records from `from` up to `to`, which is not included, that no conversation goes on from. */
export interface Span {
  from: number;
  to: number;
}

/** Those and one more, which may have some of them in it. */
export function addSpan(spans: readonly Span[], span: Span): Span[] {
  return [...spans.filter(({ from, to }) => from < span.from || to > span.to), span];
}

/** The parts of the first `length` records that lie in no span, in order. */
export function partsOutside(spans: readonly Span[], length: number): Span[] {
  const parts: Span[] = [];
  let from = 0;
  for (const span of spans.toSorted((a, b) => a.from - b.from)) {
    if (span.from > from) parts.push({ from, to: Math.min(span.from, length) });
    from = Math.max(from, span.to);
    if (from >= length) return parts;
  }
  if (from < length) parts.push({ from, to: length });
  return parts;
}
