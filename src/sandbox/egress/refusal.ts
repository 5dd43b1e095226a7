export type Refusal = ReturnType<typeof refuse>;

export function refuse(status: Status, reason: string) {
  return { ok: false, status, reason } as const;
}

/** What describePolicy of policy.ts tells the model of: programs show it of a refused tunnel, and not the reason. */
export type Status = 403 | 429 | 502 | 503;
