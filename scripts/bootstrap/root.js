import { fileURLToPath } from "node:url";

/** The folder of the repository, wherever this is started from. */
export const root = fileURLToPath(new URL("../..", import.meta.url)).replace(/[\\/]$/, "");
