import { type DefinedTool, defineTool, type ToolHandlers, type ToolSettings } from './define.ts'
import type { RunContext } from './run-context.ts'
import type { InputSchema, OutputOf } from '../schema/standard-schema.ts'

/** The settings of a method as a tool. */
export interface MethodOptions<Schema extends InputSchema, Env>
  extends ToolSettings, ToolHandlers<OutputOf<Schema>, Env, unknown> {
  /** Default: the method's own name. */
  readonly name?: string
  readonly input: Schema
}

type Schemas = Readonly<Record<string, InputSchema>>

/** An object whose methods take the output of these schemas. */
type TargetOf<Inputs extends Schemas> = {
  readonly [Name in keyof Inputs]: (input: OutputOf<Inputs[Name]>, context: RunContext<never>) => unknown
}

/** The type of `env` that the named methods expect in their run context. */
type EnvOf<Target, Name> = Target[Name & keyof Target] extends (input: never, context: RunContext<infer Env>) => unknown
  ? Env
  : unknown

/**
 * Makes tools of an object's methods: `toolsOf(new Bookings(), { find: { description, input } })`. The types hold each
 * method to its schema. A method runs with the object as `this`, and gets the run context after its input; inherited
 * methods count, and overrides win. Throws a TypeError for a class in place of an instance, and for a name that is not
 * a method.
 */
export function toolsOf<Target extends object, const Inputs extends Schemas>(
  target: Target & TargetOf<NoInfer<Inputs>>,
  methods: { readonly [Name in keyof Inputs]: MethodOptions<Inputs[Name], EnvOf<Target, keyof Inputs>> },
): DefinedTool<EnvOf<Target, keyof Inputs>>[] {
  const value: unknown = target
  if (typeof value !== 'object' || value === null) {
    const description = typeof value === 'function' ? `the class or function ${value.name}` : String(value)
    throw new TypeError(`toolsOf expects an object or an instance of a class, received ${description}`)
  }
  return Object.keys(methods).map((method: keyof Inputs & string) => {
    const isMethod = typeof Reflect.get(target, method) === 'function' && method !== 'constructor'
    if (!isMethod || Reflect.get(target, method) === Reflect.get(Object.prototype, method)) {
      throw new TypeError(`toolsOf: "${method}" is not a method of the object`)
    }
    return defineTool<Inputs[typeof method], EnvOf<Target, keyof Inputs>>({
      name: method,
      ...methods[method],
      run: (input, context): unknown => Reflect.apply(target[method], target, [input, context]),
    })
  })
}
