/** @param negative how an amount below 0 is written: `minus` or `brackets` */
export function formatMoney(cents, currency, negative = "minus") {
  const whole = Math.floor(Math.abs(cents) / 100);
  const rest = String(Math.abs(cents) % 100).padStart(2, "0");
  const amount = `${whole}.${rest} ${currency}`;
  if (cents >= 0) return amount;
  return negative === "brackets" ? `(${amount})` : `-${amount}`;
}
