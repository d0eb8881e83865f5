import { serveAgents } from 'edgecall/agent'
import { allProviders, contextPlanning, type Env, makeSetup } from 'edgecall'
import { legal, medical, router, technical } from './agents.ts'

export default serveAgents(
  (env: Env) => makeSetup(env, { providers: allProviders, use: [contextPlanning] }),
  [legal, medical, technical, router],
)
