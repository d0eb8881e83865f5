import { readdirSync } from 'node:fs'
import ts from 'typescript'
import { expect, test } from 'vitest'

const SOURCES = new URL('../src/', import.meta.url).pathname
const CONFIG = new URL('../tsconfig.json', import.meta.url).pathname

/** Types that are computed from the other arguments, which nobody writes. */
const COMPUTED = ['TargetOf', 'EnvOf']

/** The modules that others import as `edgecall` and `edgecall/*`. */
const doors = readdirSync(SOURCES).filter((file) => /^(?!index\.)\w+\.ts$/.test(file))

test('users can import each type that a function of a door takes, from this or another door', () => {
  const { config } = ts.readConfigFile(CONFIG, (file) => ts.sys.readFile(file))
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, `${SOURCES}..`)
  const program = ts.createProgram(
    doors.map((door) => SOURCES + door),
    { ...options, noEmit: true },
  )
  const checker = program.getTypeChecker()
  const resolve = (symbol: ts.Symbol) =>
    symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol

  /** The types of our own that a declaration names. */
  const typesIn = (node: ts.Node): ts.Symbol[] => {
    const symbol = ts.isTypeReferenceNode(node) ? checker.getSymbolAtLocation(node.typeName) : undefined
    const type = symbol && resolve(symbol)
    const isOurs = type?.declarations?.some(
      (declaration) =>
        declaration.getSourceFile().fileName.startsWith(SOURCES) && !ts.isTypeParameterDeclaration(declaration),
    )
    const inner: ts.Symbol[] = []
    ts.forEachChild(node, (child) => void inner.push(...typesIn(child)))
    return type && isOurs ? [type, ...inner] : inner
  }

  const exportsOf = (door: string) => {
    const file = program.getSourceFile(SOURCES + door)
    const module = file && checker.getSymbolAtLocation(file)
    return module ? checker.getExportsOfModule(module).map(resolve) : []
  }
  const exported = new Set(doors.flatMap(exportsOf))
  const types = doors.flatMap((door) =>
    exportsOf(door).flatMap(({ name, declarations = [] }) =>
      declarations
        .filter(ts.isFunctionDeclaration)
        .flatMap(({ parameters }) => parameters.flatMap(typesIn).map((type) => ({ place: `${door}: ${name}`, type }))),
    ),
  )
  const unnamed = types.filter(({ type }) => !exported.has(type) && !COMPUTED.includes(type.name))
  expect(types.length).toBeGreaterThan(60)
  expect(unnamed.map(({ place, type }) => `${place} takes ${type.name}`)).toEqual([])
})
