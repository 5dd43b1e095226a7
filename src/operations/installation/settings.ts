import type { Redis } from "ioredis";
import { makeExcerpt, type Mask } from "../excerpt.ts";
import { readNames } from "../names.ts";
import type { SettingLine, SettingsReport } from "../reports.ts";

/** Of a value; instructions and tasks are longer. */
const mostChars = 4_000;

/** What is configured, masked and cut, with the names of channels. */
export async function reportSettings(
  redis: Redis,
  { channels, settings, ...report }: SettingsReport,
  mask: Mask,
): Promise<SettingsReport> {
  const names = await readNames(
    redis,
    channels.map(({ id }) => id),
  );
  const tidy = (line: SettingLine): SettingLine => {
    const { text, omitted } = makeExcerpt(line.value, mask, mostChars);
    return { ...line, name: mask(line.name), value: omitted > 0 ? `${text} …` : text };
  };
  return {
    ...report,
    ...(report.problem !== undefined && { problem: mask(report.problem) }),
    ignored: report.ignored.map(({ setting, of, why }) => ({ setting, of: mask(of), why: mask(why) })),
    settings: settings.map(tidy),
    channels: channels.map(({ id, settings: own }) => {
      const name = names.get(id);
      return { id, ...(name !== undefined && { name: mask(name) }), settings: own.map(tidy) };
    }),
  };
}
