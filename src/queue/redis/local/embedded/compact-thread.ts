import { workerData } from "node:worker_threads";
import { z } from "zod";
import { compact } from "./files.ts";

const { folder, before } = z.object({ folder: z.string(), before: z.number() }).parse(workerData);
compact(folder, before);
