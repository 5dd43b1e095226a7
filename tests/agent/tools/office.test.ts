import { describe, expect, test } from "vitest";
import { zipOf } from "../../fakes/zip.ts";
import { workspaces } from "./workspace.ts";

const workspace = workspaces();

/** What `read_file` shows of an Office file of these parts, without the numbers of its lines. */
async function read(parts: Record<string, string | Buffer>, more: object = {}) {
  const { use, put } = await workspace();
  await put("file", zipOf(parts));
  const { status, text } = await use("read_file", { path: "file", ...more });
  return { status, text: text.replaceAll(/^ *\d+\|/gm, "") };
}

const paragraph = (text: string, style = "") =>
  `<w:p><w:pPr>${style && `<w:pStyle w:val="${style}"/>`}</w:pPr><w:r><w:t xml:space="preserve">${text}</w:t></w:r></w:p>`;

describe("read_file", () => {
  test("reads a Word file: headings, lists, tables and footnotes", async () => {
    const cell = (text: string) => `<w:tc>${paragraph(text)}</w:tc>`;
    const document = `<?xml version="1.0"?><w:document><w:body>${paragraph("Looms", "Heading1")}
      ${paragraph("Warp &amp; weft &#x2014; both")}
      <w:p><w:pPr><w:numPr><w:ilvl w:val="0"/></w:numPr></w:pPr><w:r><w:t>first</w:t></w:r></w:p>
      <w:tbl><w:tr>${cell("a")}${cell("b")}</w:tr><w:tr>${cell("1")}${cell("2")}</w:tr></w:tbl>
      <w:p><w:r><w:delText>gone</w:delText><w:t>kept</w:t></w:r></w:p></w:body></w:document>`;
    const footnotes = `<w:footnotes><w:footnote>${paragraph("small print")}</w:footnote></w:footnotes>`;
    expect(await read({ "word/document.xml": document, "word/footnotes.xml": footnotes })).toEqual({
      status: "ok",
      text: [
        ...["# Looms", "Warp & weft — both", "- first", "| a | b |", "| 1 | 2 |", "kept"],
        ...["--- footnotes ---", "small print"],
      ].join("\n"),
    });
  });

  test("reads hyphens and tabs of a Word file, and no tab stops of its paragraphs", async () => {
    const stops =
      '<w:pPr><w:tabs><w:tab w:val="left" w:pos="720"/><w:tab w:val="right" w:pos="9000"/></w:tabs></w:pPr>';
    const line =
      '<w:r><w:t>e</w:t><w:noBreakHyphen/><w:t>mail</w:t><w:tab/><w:t>co</w:t><w:softHyphen/><w:t>ordinate</w:t><w:ptab w:alignment="right"/><w:t>7</w:t></w:r>';
    const document = `<w:document><w:body><w:p>${stops}${line}</w:p></w:body></w:document>`;
    expect((await read({ "word/document.xml": document })).text).toBe("e-mail\tcoordinate\t7");
    const slide = `<p:sld><a:p><a:pPr><a:tabLst><a:tab pos="7200"/></a:tabLst></a:pPr><a:r><a:t>one</a:t></a:r></a:p></p:sld>`;
    const parts = { "ppt/presentation.xml": "<p:presentation/>", "ppt/slides/slide1.xml": slide };
    expect((await read(parts)).text).toBe("--- slide 1 of 1 ---\none");
  });

  test("reads a Word file with tracked changes as it is with them", async () => {
    const before =
      '<w:pPrChange w:id="1"><w:pPr><w:pStyle w:val="Heading1"/><w:numPr><w:ilvl w:val="0"/></w:numPr></w:pPr></w:pPrChange>';
    const run = (text: string) => `<w:r><w:t>${text}</w:t></w:r>`;
    const gone =
      '<w:del w:id="6"><w:r><w:tab/><w:delText>e</w:delText><w:noBreakHyphen/><w:delText>mail</w:delText><w:br/></w:r></w:del>';
    const mark = '<w:pPr><w:rPr><w:moveFrom w:id="2"/></w:rPr></w:pPr>';
    const document = `<w:document><w:body>
      <w:p><w:pPr><w:pStyle w:val="Normal"/>${before}</w:pPr>${run("plain")}</w:p>
      <w:p>${mark}<w:moveFrom w:id="3">${run("moved")}</w:moveFrom></w:p>
      <w:p><w:ins w:id="4">${run("new")}</w:ins>${gone}</w:p>
      <w:p><w:moveTo w:id="5">${run("moved")}</w:moveTo></w:p></w:body></w:document>`;
    expect((await read({ "word/document.xml": document })).text).toBe("plain\nnew\nmoved");
  });

  test("reads tables within tables of a Word file, in the cells that they stand in", async () => {
    const cell = (...parts: string[]) => `<w:tc>${parts.join("")}</w:tc>`;
    const row = (...cells: string[]) => `<w:tr>${cells.join("")}</w:tr>`;
    const table = (...rows: string[]) => `<w:tbl>${rows.join("")}</w:tbl>`;
    const innermost = table(row(cell(paragraph("deep")), cell(paragraph(""))));
    const inner = table(
      row(cell(paragraph("in1")), cell(paragraph("in2"), innermost, paragraph(""))),
      row(cell(paragraph("in3")), cell(paragraph("in4"))),
    );
    const outer = table(
      row(
        cell(paragraph("Name: Ada")),
        cell(paragraph("second"), inner, paragraph("after")),
        cell(paragraph("Total 42")),
      ),
      row(cell(paragraph("row2"))),
    );
    const document = `<w:document><w:body>${paragraph("before")}${outer}${paragraph("end")}</w:body></w:document>`;
    expect(await read({ "word/document.xml": document })).toEqual({
      status: "ok",
      text: [
        "before",
        "| Name: Ada | second [ in1 ; in2 [ deep ; ] ] [ in3 ; in4 ] after | Total 42 |",
        ...["| row2 |", "end"],
      ].join("\n"),
    });
  });

  test("reads an Excel file: each sheet by rows, shared and own texts, empty cells", async () => {
    const parts = {
      "xl/workbook.xml": `<workbook><sheets><sheet name="Q1 &amp; Q2" sheetId="1" r:id="rId3"/></sheets></workbook>`,
      "xl/_rels/workbook.xml.rels": `<Relationships><Relationship Id="rId3" Target="worksheets/sheet1.xml"/></Relationships>`,
      "xl/sharedStrings.xml": `<sst><si><t>name</t></si><si><r><t>to</t></r><r><t>tal, all</t></r></si></sst>`,
      "xl/worksheets/sheet1.xml": `<worksheet><sheetData>
        <row r="1"><c r="A1" t="s"><v>0</v></c><c r="C1" t="s"><v>1</v></c></row>
        <row r="3"><c r="A3" t="inlineStr"><is><t>own</t></is></c><c r="B3"><f>A1*2</f><v>42.5</v></c>
          <c r="C3" t="b"><v>1</v></c><c r="D3" t="b"><v>0</v></c></row>
      </sheetData></worksheet>`,
    };
    expect(await read(parts)).toEqual({
      status: "ok",
      text: ["--- sheet Q1 & Q2 ---", '1: name,,"total, all"', "3: own,42.5,TRUE,FALSE"].join("\n"),
    });
    expect((await read(parts, { offset: 2, limit: 1 })).text).toMatch(/^1: name.*\n\[lines 2 to 2 of 3/);
  });

  test("leaves out how texts of an Excel file are pronounced", async () => {
    const spoken = '<t>東京</t><rPh sb="0" eb="2"><t>トウキョウ</t></rPh><phoneticPr/>';
    const parts = {
      "xl/workbook.xml": `<workbook><sheets><sheet name="S" r:id="rId1"/></sheets></workbook>`,
      "xl/_rels/workbook.xml.rels": `<Relationships><Relationship Id="rId1" Target="worksheets/sheet1.xml"/></Relationships>`,
      "xl/sharedStrings.xml": `<sst><si>${spoken}</si><si><t>next</t></si></sst>`,
      "xl/worksheets/sheet1.xml": `<worksheet><sheetData>
        <row r="1"><c t="s"><v>0</v></c><c t="s"><v>1</v></c><c t="inlineStr"><is>${spoken}</is></c><c><v>7</v></c></row>
      </sheetData></worksheet>`,
    };
    expect((await read(parts)).text).toBe("--- sheet S ---\n1: 東京,next,東京,7");
  });

  describe("prints what an Excel file shows as a date or a time", () => {
    /** Cells of these values and formats, in one row. */
    const readCells = async (cells: [value: string, format: number | string][], properties = "") => {
      const own = [
        ...new Set(cells.map(([, format]) => format).filter((format) => typeof format === "string")),
      ];
      const formats = own.map((code, index) => `<numFmt numFmtId="${164 + index}" formatCode="${code}"/>`);
      const styles = cells.map(([, format]) => {
        const id = typeof format === "string" ? 164 + own.indexOf(format) : format;
        return `<xf numFmtId="${id}" applyNumberFormat="1"><alignment/></xf>`;
      });
      const values = cells.map(([value], index) => `<c s="${index}"><v>${value}</v></c>`);
      const { text } = await read({
        "xl/workbook.xml": `<workbook>${properties}<sheets><sheet name="S" r:id="rId1"/></sheets></workbook>`,
        "xl/_rels/workbook.xml.rels": `<Relationships><Relationship Id="rId1" Target="worksheets/sheet1.xml"/></Relationships>`,
        "xl/styles.xml": `<styleSheet><numFmts>${formats.join("")}</numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs>${styles.join("")}</cellXfs></styleSheet>`,
        "xl/worksheets/sheet1.xml": `<worksheet><sheetData><row r="1">${values.join("")}</row></sheetData></worksheet>`,
      });
      return text.replace(/^--- sheet S ---\n1: /, "").split(",");
    };

    test("in the formats that every file has", async () => {
      expect(
        await readCells([
          ["45992", 14],
          ["45992.75", 14],
          ["45992.75", 22],
          ["0.4375", 20],
          ["45992.4375", 19],
          ["1.5", 46],
          ["45992", 0],
          ["45992", 3],
        ]),
      ).toEqual([
        ...["2025-12-01", "2025-12-01", "2025-12-01T18:00:00", "10:30:00", "10:30:00", "36:00:00"],
        ...["45992", "45992"],
      ]);
    });

    test("in formats of its own, and no number whose unit is a letter", async () => {
      expect(
        await readCells([
          ["45992.5", "yyyy\\-mm\\-dd"],
          ["45992.5", "[$-409]d/m/yy h:mm AM/PM;@"],
          ["45992", "mmmm"],
          ["0.5", "mm:ss"],
          ["2.25", "[hh]:mm"],
          ["45992", "[Red]0.0"],
          ["45992", "0&quot; days&quot;"],
          ["45992", "0\\d"],
          ["45992", "#,##0_m"],
          ["45992", "General"],
          ["45992", "0.00E+00"],
        ]),
      ).toEqual([
        ...["2025-12-01", "2025-12-01T12:00:00", "2025-12-01", "12:00:00", "54:00:00"],
        ...Array<string>(6).fill("45992"),
      ]);
    });

    test("from both days from which files count, and with the day that 1900 did not have", async () => {
      const days = ["1", "59", "60", "61", "2958465", "2958466", "-1", "x", "0"];
      const shown = await readCells([...days.map((day): [string, number] => [day, 14]), ["0.5", 22]]);
      expect(shown).toEqual([
        ...["1900-01-01", "1900-02-28", "1900-02-29", "1900-03-01", "9999-12-31", "2958466", "-1", "x"],
        ...["0", "12:00:00"],
      ]);
      const properties = `<workbookPr date1904="true"/>`;
      const since1904 = await readCells(
        [...["0", "2957003", "2957004"].map((day): [string, number] => [day, 14]), ["44530.5", 22]],
        properties,
      );
      expect(since1904).toEqual(["1904-01-01", "9999-12-31", "2957004", "2025-12-01T12:00:00"]);
      expect(await readCells([["45992", 14]], `<workbookPr date1904="0"/>`)).toEqual(["2025-12-01"]);
    });
  });

  test("reads a PowerPoint file: slides in their order, with their notes", async () => {
    const slide = (text: string) => `<p:sld><a:p><a:r><a:t>${text}</a:t></a:r></a:p></p:sld>`;
    const parts = {
      "ppt/presentation.xml": "<p:presentation/>",
      "ppt/slides/slide10.xml": slide("last"),
      "ppt/slides/slide2.xml": slide("first"),
      "ppt/slides/_rels/slide2.xml.rels": `<Relationships><Relationship Id="rId1" Target="../notesSlides/notesSlide1.xml"/></Relationships>`,
      "ppt/notesSlides/notesSlide1.xml": slide("say this"),
    };
    expect((await read(parts)).text).toBe(
      ["--- slide 1 of 2 ---", "first", "[notes]", "say this", "--- slide 2 of 2 ---", "last"].join("\n"),
    );
  });

  test("refuses what unpacks to too much, and what was cut", async () => {
    const bomb = Buffer.alloc(33 * 1024 * 1024);
    expect(await read({ "word/document.xml": bomb })).toEqual({
      status: "error",
      text: "file could not be read: its part word/document.xml unpacks to too much.",
    });
    const { use, put } = await workspace();
    await put("cut.docx", zipOf({ "word/document.xml": paragraph("a".repeat(500)) }).subarray(0, 100));
    expect(await use("read_file", { path: "cut.docx" })).toMatchObject({
      status: "error",
      text: "cut.docx could not be read: it is no complete zip archive.",
    });
  });

  test("says of another archive that it is not text", async () => {
    expect(await read({ "a.txt": "a" })).toEqual({
      status: "error",
      text: expect.stringMatching(/^file is not text \(\d+ bytes\); use bash/),
    });
  });
});
