function formatMoney(cents, currency) {
  const sign = cents < 0 ? "-" : "";
  const whole = Math.floor(Math.abs(cents) / 100);
  const rest = String(Math.abs(cents) % 100).padStart(2, "0");
  return `${sign}${whole}.${rest} ${currency}`;
}

export function invoiceLine({ what, cents }) {
  return `${what}: ${formatMoney(cents, "EUR")}`;
}
