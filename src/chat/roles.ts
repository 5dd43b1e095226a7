/** What somebody is at the console and its API, where people have names. */
export type Role = "operator" | "member" | "viewer";

/**
 * What an address of the API does. `read`: shows threads, files and usage. `oversee`: shows the audit log, the system and
 * metrics. `work`: writes, stops and answers in the console's own threads. `operate`: the same in every thread, and what
 * is done with whole threads. `read-direct`: shows what is said in direct messages of a chat platform.
 */
export type Act = "read" | "oversee" | "work" | "operate" | "read-direct";

export const acts: readonly Act[] = ["read", "oversee", "work", "operate", "read-direct"];
