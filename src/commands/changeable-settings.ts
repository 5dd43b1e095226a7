/** The settings that an administrator may have changed in chat; apart from the command, which takes long to load. */
export const changeableSettings = ["person", "model", "instructions", "verbosity", "budget"] as const;

export type ChangeableSetting = (typeof changeableSettings)[number];
