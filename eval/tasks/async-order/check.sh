node --test .check/fetch-all.test.mjs
