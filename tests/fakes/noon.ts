/** A time zone in which it is about noon, for tests that the end of a day would change. */
export function noonZone(): string {
  const ahead = 12 - new Date().getUTCHours();
  // Zones of this kind have their sign the other way round.
  return `Etc/GMT${ahead < 0 ? "+" : "-"}${Math.abs(ahead)}`;
}
