export const roles = ["all", "gateway", "worker"] as const;

export type Role = (typeof roles)[number];
