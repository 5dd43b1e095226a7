/** `npm run test:faults`: everything, as often as its figures need. */
export const full = process.env["HEDDLE_FAULTS"] === "full";

/** `npm test`: of each fault one case, for a machine of two cores that has five minutes. */
export const bounded = process.env["HEDDLE_TESTS"] === "bounded";
