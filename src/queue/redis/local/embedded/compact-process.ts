/** Started by thread.ts with the folder and the number of the log that is being written. */
import { compact } from "./files.ts";

const [folder = "", before] = process.argv.slice(2);
compact(folder, Number(before));
