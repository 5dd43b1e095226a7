node --test .check/slug.test.mjs && node --test slug.test.mjs && grep -q 'Crème brûlée' slug.test.mjs
