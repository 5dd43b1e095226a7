import { existsSync, readFileSync, statSync } from "node:fs";
import { parseDocument } from "yaml";
import { settingsSchema } from "../config/schema.ts";
import { replaceFile } from "./env-file.ts";

/**
 * Adds values to a list of `heddle.yaml` that it does not have so far. Comments and everything else stay; the file is made
 * where there is none. @throws Error with a sentence where the result would be refused
 */
export async function addToSetting(
  path: string,
  setting: readonly string[],
  values: readonly string[],
): Promise<void> {
  await changeSettings(path, (document) => {
    const current: unknown = document.getIn(setting);
    const listed = JSON.parse(JSON.stringify(current ?? [])) as unknown;
    const known = Array.isArray(listed) ? listed.map(String) : [];
    document.setIn(setting, document.createNode([...new Set([...known, ...values])]));
  });
}

/** Sets a value of `heddle.yaml`, in the same way. */
export async function setSetting(path: string, setting: readonly string[], value: boolean): Promise<void> {
  await changeSettings(path, (document) => document.setIn(setting, value));
}

async function changeSettings(
  path: string,
  change: (document: ReturnType<typeof parseDocument>) => void,
): Promise<void> {
  const exists = existsSync(path);
  const document = parseDocument(exists ? readFileSync(path, "utf8") : "");
  change(document);
  const checked = settingsSchema.safeParse(document.toJS() ?? {});
  if (!checked.success) throw new Error(`${path} would not be valid after the change, so it was left alone.`);
  await replaceFile(path, document.toString({ lineWidth: 0 }), exists ? statSync(path).mode & 0o777 : 0o644);
}
