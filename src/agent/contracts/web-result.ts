/** A page that a search has found. */
export interface WebResult {
  title: string;
  address: string;
  snippet: string;
  /** As the service tells it. */
  date?: string;
}
