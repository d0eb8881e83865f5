import { WorkflowEntrypoint, type WorkflowEvent, type WorkflowStep } from 'cloudflare:workers'
import { NonRetryableError } from 'cloudflare:workflows'
import { defineTool, type RunContext, serveTools, ToolError } from 'edgecall/tool'
import * as v from 'valibot'

interface Env {
  readonly FILMS: Workflow<Order>
  readonly RENDER_SECONDS: string
}

interface Order {
  readonly scene: string
  /** Where to report. */
  readonly url: string
}

/** Renders a scene in minutes, and reports to the run that waits for the film. Each step survives a restart. */
export class RenderFilm extends WorkflowEntrypoint<Env, Order> {
  override async run({ payload: { scene, url } }: WorkflowEvent<Order>, step: WorkflowStep): Promise<void> {
    await step.do('report the start', () => report(url, { progress: { message: 'rendering', fraction: 0.1 } }))
    await step.sleep('render', `${Number(this.env.RENDER_SECONDS)} seconds`)
    const film = await step.do(
      'store the film',
      async () => `https://films.example.com/${encodeURIComponent(scene)}.mp4`,
    )
    await step.do('report the film', () => report(url, { result: { film } }))
  }
}

async function report(url: string, body: object): Promise<void> {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  await response.body?.cancel()
  // The run was cancelled, or its time is up: nobody needs the film.
  if (response.status >= 400 && response.status < 500) throw new NonRetryableError('Nobody waits for this film.')
  if (!response.ok) throw new Error(`The edge answered ${response.status}.`)
}

export const renderFilm = defineTool({
  name: 'renderFilm',
  description: 'Renders a scene as a film. Use it when someone asks for a film. Answers its address, after minutes.',
  input: v.object({ scene: v.pipe(v.string(), v.nonEmpty(), v.maxLength(100)) }),
  annotations: { idempotent: true },
  later: true,
  run: async ({ scene }, { env, idempotencyKey, reportTo, later }: RunContext<Env>) => {
    if (!reportTo?.url) throw new ToolError('A film takes minutes, and this run cannot wait for it.')
    try {
      await env.FILMS.create({ id: idempotencyKey, params: { scene, url: reportTo.url } })
    } catch (error) {
      // A call that is sent again after a crash finds the Workflow that the first one started.
      await env.FILMS.get(idempotencyKey).catch(() => {
        throw error
      })
    }
    return later({ within: 30 * 60_000 })
  },
})

export default serveTools(renderFilm)
