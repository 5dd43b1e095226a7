/** Fetches every id with `fetchOne`, at most three at a time; the results are in the order of the ids. */
export async function fetchAll(ids, fetchOne) {
  const results = new Array(ids.length);
  let next = 0;
  const work = async () => {
    while (next < ids.length) {
      const index = next++;
      results[index] = await fetchOne(ids[index]);
    }
  };
  await Promise.all(Array.from({ length: Math.min(3, ids.length) }, work));
  return results;
}
