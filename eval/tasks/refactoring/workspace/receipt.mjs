function formatMoney(cents, currency) {
  const whole = Math.floor(Math.abs(cents) / 100);
  const rest = String(Math.abs(cents) % 100).padStart(2, "0");
  const amount = `${whole}.${rest} ${currency}`;
  return cents < 0 ? `(${amount})` : amount;
}

export function receiptLine({ what, cents }) {
  return `${what} ${formatMoney(cents, "EUR")}`;
}
