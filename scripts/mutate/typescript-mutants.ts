import { type Node, parseSync, Visitor } from "oxc-parser";
import { applyMutant, largestConstant, type Mutant } from "./mutant.ts";

const operators: Record<string, readonly string[]> = {
  "<": ["<=", ">="],
  "<=": ["<", ">"],
  ">": [">=", "<="],
  ">=": [">", "<"],
  "===": ["!=="],
  "!==": ["==="],
  "+": ["-"],
  "-": ["+"],
  "*": ["/"],
  "/": ["*"],
  "&&": ["||"],
  "||": ["&&"],
};

const comparisons = new Set(["<", "<=", ">", ">=", "===", "!=="]);

const methods: Record<string, string> = {
  every: "some",
  find: "findLast",
  findIndex: "findLastIndex",
  findLast: "find",
  findLastIndex: "findIndex",
  max: "min",
  min: "max",
  pop: "shift",
  push: "unshift",
  shift: "pop",
  some: "every",
  unshift: "push",
};

/** Methods that a call may do without: `list.filter(wanted)` becomes `list`. */
const droppable = new Set(["filter", "slice", "toReversed", "toSorted", "trim"]);

type Span = Pick<Node, "start" | "end">;

/** Every mutant of a TypeScript source that still parses. Types and imports are left alone. */
export function typescriptMutants(source: string): Mutant[] {
  const { program } = parseSync("source.ts", source);
  const mutants: Mutant[] = [];
  /** Types, which Node does not even read. */
  const erased: Span[] = [];
  const text = ({ start, end }: Span) => source.slice(start, end);
  const change = ({ start, end }: Span, replacement: string) => mutants.push({ start, end, replacement });
  const erase = (node: Span) => void erased.push(node);
  const remove = (node: Span) => void change(node, ";");

  const swapOperator = (node: { operator: string; left: Node; right: Node }) => {
    const start = source.indexOf(node.operator, node.left.end);
    const span = { start, end: start + node.operator.length };
    for (const other of operators[node.operator] ?? []) change(span, other);
  };
  const negate = (test: Node) => {
    // A comparison has its opposite anyhow.
    if (test.type === "BinaryExpression" && comparisons.has(test.operator)) return;
    if (test.type === "UnaryExpression" && test.operator === "!") return;
    change(test, `!(${text(test)})`);
  };

  new Visitor({
    BinaryExpression(node) {
      if (node.operator === "+" && (isText(node.left) || isText(node.right))) return;
      swapOperator(node);
    },
    LogicalExpression(node) {
      if (node.operator === "??") change(node, text(node.left));
      else swapOperator(node);
    },
    UnaryExpression(node) {
      if (node.operator === "!") change(node, text(node.argument));
    },
    IfStatement: ({ test }) => negate(test),
    WhileStatement: ({ test }) => negate(test),
    ConditionalExpression: ({ test }) => negate(test),
    Literal(node) {
      if (typeof node.value === "boolean") change(node, String(!node.value));
      if (typeof node.value !== "number" || node.value > largestConstant) return;
      change(node, String(node.value + 1));
      if (node.value > 0) change(node, String(node.value - 1));
    },
    CallExpression(node) {
      const { callee } = node;
      if (callee.type !== "MemberExpression" || callee.property.type !== "Identifier") return;
      const { name } = callee.property;
      const other = methods[name];
      if (other) change(callee.property, other);
      if (droppable.has(name)) change(node, text(callee.object));
    },
    ExpressionStatement(node) {
      // A string is a directive such as "use strict".
      if (node.expression.type !== "Literal") remove(node);
    },
    ReturnStatement: remove,
    ThrowStatement: remove,
    BreakStatement: remove,
    ContinueStatement: remove,
    ImportDeclaration: erase,
    TSTypeAliasDeclaration: erase,
    TSInterfaceDeclaration: erase,
    TSTypeAnnotation: erase,
    TSTypeParameterInstantiation: erase,
    TSAsExpression: ({ typeAnnotation }) => erase(typeAnnotation),
  }).visit(program);

  const isErased = ({ start, end }: Span) => erased.some((span) => span.start <= start && end <= span.end);
  return mutants
    .filter((mutant) => !isErased(mutant) && parses(applyMutant(source, mutant)))
    .toSorted((a, b) => a.start - b.start);
}

/** Whether adding to it joins texts. */
function isText(node: Node): boolean {
  return node.type === "TemplateLiteral" || (node.type === "Literal" && typeof node.value === "string");
}

function parses(source: string): boolean {
  return parseSync("source.ts", source).errors.length === 0;
}
