import type { Context } from 'hono'
import { digestOf } from '../../../host/definition-digest.ts'
import { untightened } from '../../../host/policy/policies.ts'
import { authorOf, requireScope } from '../../middleware/auth.ts'
import { readHash } from '../../request-body.ts'
import type { EdgeEnv } from '../../context.ts'
import { Problem } from '../../problem.ts'
import { unknownToolProblem } from './find-tool.ts'

/** `POST /tools/{name}/accept`: accepts the current definition of a tool, if its hash is the one in the body. */
export async function acceptTool(c: Context<EdgeEnv>, name: string): Promise<Response> {
  const { caller, setup } = c.env
  requireScope(caller, 'tools:admin')
  const hash = await readHash(c.req.raw, setup.config.maxBodyBytes, 'a definition')
  const { tools, unavailable } = await setup.tools(caller).list()
  const all = [...tools, ...unavailable.flatMap(({ place, pending }) => (pending ? { place, ...pending } : []))]
  const candidates = await Promise.all(
    all
      .filter(({ definition }) => definition.name === name)
      .map(async ({ definition: listedDefinition, place }) => {
        const definition = untightened(listedDefinition)
        return { name, place, hash: await digestOf(definition), definition }
      }),
  )
  const match = candidates.find((tool) => tool.hash === hash)
  if (match) {
    await setup.acceptances?.accept(match, authorOf(caller))
    return c.json({ name, hash })
  }
  const [candidate] = candidates
  if (!candidate) throw unknownToolProblem(name)
  const message = `The tool "${name}" has another definition now.`
  throw new Problem({ status: 409, code: 'tool_changed', message, extra: { current: candidate.hash } })
}
