/** One argument of a bash command, whatever is in it. NUL cannot be passed at all and is dropped. */
export function quoteArgument(argument: string): string {
  return `'${argument.replaceAll("\0", "").replaceAll("'", "'\\''")}'`;
}
