import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { schemaPath } from "../../scripts/reference/reference.ts";

const path = join(import.meta.dirname, "../..", schemaPath);
const ajv = new Ajv2020({ strict: true, allowUnionTypes: true });
addFormats.default(ajv);

/** Whether an editor that knows the JSON Schema of heddle.yaml accepts that value; `errors` of it says why not. */
export const validateForEditors = ajv.compile(JSON.parse(readFileSync(path, "utf8")));
