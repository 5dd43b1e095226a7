import { ConfigError } from "./config-error.ts";

type Headers = Record<string, string>;

/**
 * The headers with the variables that they name, and the values of those that name one, which must be masked.
 *
 * @param where the headers' place in the settings, for the error
 * @throws ConfigError for a variable that is not set, or a value that no header can have
 */
export function fillInVariables(
  headers: Readonly<Headers>,
  variables: Readonly<Record<string, string>>,
  where: string,
): { headers: Headers; secrets: string[] } {
  const secrets: string[] = [];
  const filled = Object.entries(headers).map(([name, value]) => {
    const text = value.replaceAll(/\$\{(\w+)\}/g, (_, variable: string) => {
      const found = variables[variable];
      if (found !== undefined) {
        secrets.push(found);
        return found;
      }
      throw new ConfigError(
        `${where}.${name}: ${variable} is not set; set it in the environment or in .env.`,
      );
    });
    if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(text)) {
      throw new ConfigError(`${where}.${name}: expected printable characters on one line.`);
    }
    return [name, text] as const;
  });
  return { headers: Object.fromEntries(filled), secrets };
}
