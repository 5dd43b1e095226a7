import { formatMoney } from "./money.mjs";

export function invoiceLine({ what, cents }) {
  return `${what}: ${formatMoney(cents, "EUR")}`;
}
