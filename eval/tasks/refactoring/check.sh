node --test .check/lines.test.mjs &&
grep -q 'money.mjs' invoice.mjs && grep -q 'money.mjs' receipt.mjs &&
! grep -qE 'padStart' invoice.mjs receipt.mjs
