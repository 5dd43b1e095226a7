/** What signs in at a repository's host, asked for each request. It is told to nobody but the host. */
export interface RepositoryCredential {
  /** @param refused what the host has just refused; then another one, if there is any */
  token(refused?: string): Promise<Token>;
}

/** Without a value nobody signs in. `reason` is one clause for the model. */
export type Token = { ok: true; value?: string } | { ok: false; reason: string };

/** A token that the operator has set, or nobody at all. */
export function createStaticCredential(value: string | undefined): RepositoryCredential {
  const token: Token = { ok: true, ...(value !== undefined && { value }) };
  return { token: async () => token };
}

/** The header that git signs in with. */
export function toBasic(user: string, token: string): string {
  return `Basic ${Buffer.from(`${user}:${token}`).toString("base64")}`;
}

export function fromBasic(header: string): string {
  const text = Buffer.from(header.replace(/^Basic /, ""), "base64").toString();
  return text.slice(text.indexOf(":") + 1);
}
