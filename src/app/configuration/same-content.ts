/** Whether two values of a configuration say the same: plain data, and addresses, which Node's own comparison takes for equal. */
export function isSameContent(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
