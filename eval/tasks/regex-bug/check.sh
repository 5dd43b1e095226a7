node --test .check/links.test.mjs
