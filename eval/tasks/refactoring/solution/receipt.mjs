import { formatMoney } from "./money.mjs";

export function receiptLine({ what, cents }) {
  return `${what} ${formatMoney(cents, "EUR", "brackets")}`;
}
