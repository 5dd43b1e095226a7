/** What is to be paid, in cents. @param rate a share: 0.1 takes ten per cent off */
export function discounted(cents, rate) {
  return Math.max(0, cents - cents * rate);
}
