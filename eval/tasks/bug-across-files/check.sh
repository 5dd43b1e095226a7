node --test .check/order.test.mjs && grep -q '"SPRING": 10' discounts.json
