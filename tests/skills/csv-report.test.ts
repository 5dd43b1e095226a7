import { describe, expect, test } from "vitest";
import { runScript, workspace } from "./script.ts";

const orders = `id,customer,country,amount,ordered,note
1,Alice,DE,"1,200.50",2026-11-01,"first, ever"
2,Bob,US,80,2026-11-02,
3,Carol,DE,95.5,2026-11-02,"said ""hi""
on two lines"
4,Dan,FR,n/a,2026-11-03,x
5,Eve, DE,70,2026-11-04,y,extra
5,Eve, DE,70,2026-11-04,y,extra
6,Finn,US,99999,2026-12-01,z
7,Gül,US,85,2026-12-02,z
8,Hal,US,$90,2026-12-03,z
`;

const csv = (args: string[], files: Record<string, string> = { "orders.csv": orders }) =>
  runScript("csv-report/scripts/csv.mts", args, workspace(files));

/** The cells of the line that begins with a word. */
const row = (text: string, first: string): string[] =>
  (text.split("\n").find((line) => line.startsWith(first)) ?? "").trim().split(/ {2,}/);

describe("profile", () => {
  test("describes each column by its own kind", async () => {
    const { stdout } = await csv(["profile", "orders.csv"]);
    expect(stdout).toContain('orders.csv: 9 rows, 6 columns, delimiter ","');
    expect(row(stdout, "amount")).toEqual([
      "amount",
      "number",
      "88.9%",
      "7",
      "70",
      "99,999",
      "12,711.25",
      "87.50",
    ]);
    expect(row(stdout, "ordered")).toEqual(["ordered", "date", "100%", "7", "2026-11-01", "2026-12-03"]);
    expect(row(stdout, "country")).toEqual(["country", "text", "100%", "3"]);
  });

  test("finds what is wrong with the data, with rows", async () => {
    const { stdout } = await csv(["profile", "orders.csv"]);
    for (const finding of [
      "ragged rows (fields): 5 (7), 6 (7); the header has 6 fields",
      "1 duplicate row, for example row 6 repeats row 5",
      "country: 2 values with blanks at an end",
      "amount: 1 empty value",
      "amount: the largest value 99,999 (row 7) is far from the median 87.50",
    ]) {
      expect(stdout).toContain(`  - ${finding}\n`);
    }
  });

  test("recognises keys, constants and columns of several kinds", async () => {
    const lines = Array.from({ length: 20 }, (_, index) => `k${index},same,${index === 7 ? "seven" : index}`);
    const { stdout } = await csv(["profile", "t.csv"], { "t.csv": ["key,one,value", ...lines].join("\r\n") });
    expect(stdout).toContain("key: filled and different in every row, so it could be a key");
    expect(stdout).toContain("one: the same value in every row");
    expect(stdout).toContain('value: 1 value outside the type integer, for example "seven" in row 8');
  });

  test.for([
    [";", "a;b\n1.234,50;x\n2,25;y\n", "1,234.50"],
    ["tab", "a\tb\n1234.5\tx\n2.25\ty\n", "1,234.50"],
    ["|", "\uFEFFa|b\n1234.5|x\n2.25|y\n", "1,234.50"],
  ] as const)("finds the delimiter %s by itself", async ([name, text, largest]) => {
    const { stdout } = await csv(["profile", "t.txt"], { "t.txt": text });
    expect(stdout).toContain(name === "tab" ? "delimiter tab" : `delimiter "${name}"`);
    expect(row(stdout, "a")[5]).toBe(largest);
  });
});

describe("a quote", () => {
  test("holds the lines of a title together, as spreadsheets write them", async () => {
    const text = '"Order\nnumber";"Amount\n(EUR; net)"\n1;"1,5"\n2;"2,5"\n';
    const { stdout } = await csv(["group", "t.csv", "--by", "order number", "--sum", "Amount (EUR; net)"], {
      "t.csv": text,
    });
    expect(stdout).toContain("2 rows in 2 groups; total 4\n");
  });

  test("within a value is a character like others, as of inches", async () => {
    const text = 'id\tname\n1\t5" pipe\n2\tbolt\n3\t6" pipe\n4\t"a 7"" pipe,\nlong"\n5\t""\n';
    const { stdout } = await csv(["profile", "t.tsv"], { "t.tsv": text });
    expect(stdout).toContain("t.tsv: 5 rows, 2 columns, delimiter tab");
    expect(stdout).not.toContain("ragged");
  });
});

describe("group", () => {
  test("sums by a column, with shares, bars and what was left out", async () => {
    const { stdout } = await csv(["group", "orders.csv", "--by", "country", "--sum", "amount", "--bars"]);
    expect(row(stdout, "US")).toEqual(["US", "4", "100,254", "98.6%", "█".repeat(20)]);
    expect(row(stdout, "DE")).toEqual(["DE", "4", "1,436", "1.4%"]);
    expect(stdout).toContain("9 rows in 3 groups; total 101,690\n1 value of amount left out as no number\n");
  });

  test("takes the mean by a part of a date, under conditions", async () => {
    const where = ["--where", "amount<1000", "--where", "country!=FR"];
    const { stdout } = await csv(["group", "orders.csv", "--by", "ordered:7", "--mean", "amount", ...where]);
    expect(row(stdout, "2026-12")).toEqual(["2026-12", "2", "87.50"]);
    expect(stdout).toContain("6 rows in 2 groups");
  });
});

describe("rows", () => {
  test("shows chosen columns of the rows that match", async () => {
    const { stdout } = await csv([
      "rows",
      "orders.csv",
      "--where",
      "note~^(said|first)",
      "--columns",
      "customer,note",
    ]);
    expect(stdout.split("\n").slice(0, 3)).toEqual([
      "row  customer  note",
      "  1  Alice     first, ever",
      '  3  Carol     said "hi" on two lines',
    ]);
  });

  test("says which columns there are when one is unknown", async () => {
    const { code, stderr } = await csv(["rows", "orders.csv", "--where", "price>1"]);
    expect(code).toBe(1);
    expect(stderr).toBe(
      "csv.mts: there is no column 'price'; columns: id, customer, country, amount, ordered, note\n",
    );
  });
});

test("what is no table is refused", async () => {
  expect((await csv(["profile", "x.csv"])).stderr).toMatch(/^csv\.mts: cannot read x\.csv: No such file/);
  expect((await csv(["profile", "x.csv"], { "x.csv": "" })).stderr).toBe("csv.mts: x.csv is empty\n");
  expect((await csv(["profile", "x.xlsx"], { "x.xlsx": "PK\u0003\u0004\0\0" })).stderr).toMatch(
    /is not text; export/,
  );
  expect((await csv(["profile", "x.csv"], { "x.csv": 'a,b\n1,"2\n' })).stderr).toMatch(/never closed/);
});
