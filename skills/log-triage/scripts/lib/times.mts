const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** What completes times that lack it. */
export interface Defaults {
  /** As in +02:00. */
  zone: string;
  year: number;
}

interface Parts {
  year: number | string;
  month: number | string;
  day: string;
  hour: string;
  minute: string;
  second?: string;
  fraction?: string | undefined;
  zone?: string | undefined;
}

/** How a time may be written. The first that is found near the beginning of a line counts. */
const forms: { form: RegExp; partsOf(found: readonly (string | undefined)[], year: number): Parts }[] = [
  {
    form: /(?<!\d)(\d{4})[-/](\d\d)[-/](\d\d)[T _](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?\s?(Z|[+-]\d\d:?\d\d)?/,
    partsOf: ([, year = "", month = "", day = "", hour = "", minute = "", second = "", fraction, zone]) => {
      return { year, month, day, hour, minute, second, fraction, zone };
    },
  },
  {
    form: /(?<!\d)(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d)\s?(Z|[+-]\d\d:?\d\d)?(?![:\d])/,
    partsOf: ([, year = "", month = "", day = "", hour = "", minute = "", zone]) => {
      return { year, month, day, hour, minute, zone };
    },
  },
  {
    form: /(?<!\d)(\d{1,2})\/(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\/(\d{4}):(\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))? ([+-]\d{4})/,
    partsOf: ([, day = "", month = "", year = "", hour = "", minute = "", second = "", fraction, zone]) => {
      return { year, month: months.indexOf(month) + 1, day, hour, minute, second, fraction, zone };
    },
  },
  {
    form: /(?<![A-Za-z])(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +(\d{1,2}) (\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?/,
    partsOf: ([, month = "", day = "", hour = "", minute = "", second = "", fraction], year) => {
      return { year, month: months.indexOf(month) + 1, day, hour, minute, second, fraction };
    },
  },
  {
    form: /^[IWEF](\d\d)(\d\d) (\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?/,
    partsOf: ([, month = "", day = "", hour = "", minute = "", second = "", fraction], year) => {
      return { year, month, day, hour, minute, second, fraction };
    },
  },
];
const secondsForm = /"(?:ts|time|timestamp|epoch)"\s*:\s*"?(1\d{9}(?:\.\d+)?)(\d{3})?"?\s*[,}]/;

/** The time near the beginning of a line, in seconds since 1970 (UTC), and the line without it. */
export function findTime(line: string, defaults: Defaults): { time: number; rest: string } | undefined {
  const head = line.slice(0, 200);
  for (const { form, partsOf } of forms) {
    const found = form.exec(head);
    if (found === null) continue;
    const time = secondsOf(partsOf(found, defaults.year), defaults.zone);
    if (time === undefined) return undefined;
    const rest = line.slice(0, found.index) + line.slice(found.index + found[0].length);
    return { time, rest: rest.replaceAll(/^\s*\[\s*\]\s*|\[\s*\]|^\s+/g, "") };
  }
  const [, seconds, milliseconds] = secondsForm.exec(head) ?? [];
  if (seconds === undefined) return undefined;
  return { time: Number(seconds) + Number(milliseconds ?? 0) / 1000, rest: line };
}

function secondsOf(parts: Parts, defaultZone: string): number | undefined {
  const { fraction = "", zone = defaultZone } = parts;
  const [year, month, day] = [Number(parts.year), Number(parts.month), Number(parts.day)];
  const [hour, minute, second] = [Number(parts.hour), Number(parts.minute), Number(parts.second ?? 0)];
  if (month < 1 || month > 12 || day < 1 || day > 31 || hour > 24 || minute > 59 || second > 60)
    return undefined;
  const date = new Date(0);
  // Not by Date.UTC, which takes the years before 100 for those of the last century.
  const days = date.setUTCFullYear(year, month - 1, day) / 1000;
  return days + hour * 3600 + minute * 60 + second + Number(`0.${fraction}0`) - offsetOf(zone);
}

/** In seconds. */
function offsetOf(zone: string): number {
  const [, sign, hours, minutes] = /^([+-])(\d\d):?(\d\d)$/.exec(zone) ?? [];
  return (sign === "-" ? -1 : 1) * (Number(hours ?? 0) * 60 + Number(minutes ?? 0)) * 60;
}

/** A time as a person types it in an option. */
export function readTime(text: string, defaults: Defaults): number | undefined {
  return findTime(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text} 00:00` : text, defaults)?.time;
}

export function showDate(time: number): string {
  return isoOf(time).slice(0, -14);
}

export function showClock(time: number): string {
  return isoOf(time).slice(-13, -5);
}

export function showTime(time: number): string {
  return `${showDate(time)} ${showClock(time)}`;
}

function isoOf(time: number): string {
  return new Date(Math.floor(time) * 1000).toISOString();
}
