import { WorkerEntrypoint } from 'cloudflare:workers'
import { defineRawTool, serveTools } from '../../../src/tool.ts'
import { manyTools } from '../many-tools.ts'
import { type Definition, FEW, perform } from './definitions.ts'

/** The tools for all that is measured beside the edge: one method, nothing checked. */
export class Plain extends WorkerEntrypoint {
  call(name: string, args: Readonly<Record<string, unknown>>): Promise<object> {
    return perform(name, args)
  }
}

/** The same tools for the edge, made with its own kit. */
export const Few = serveTools(...FEW.map(toTool))

/** The five and 500 more, for the edge. */
export const Many = serveTools(...FEW.map(toTool), ...manyTools(500).map(toTool))

function toTool({
  name,
  description,
  inputSchema,
}: Pick<Definition, 'name' | 'description'> & { inputSchema: object }) {
  return defineRawTool({ name, description, inputSchema: { ...inputSchema } }, (input) => perform(name, Object(input)))
}

export default { fetch: () => new Response('') }
