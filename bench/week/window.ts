/** The window of the model that plays the week, in tokens. */
export const windowTokens = 128_000;
