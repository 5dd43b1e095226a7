/** The steps of the set-up, in their order. */
export const setupSteps = ["surroundings", "model", "slack", "discord", "listen"] as const;
export type SetupStep = (typeof setupSteps)[number];
