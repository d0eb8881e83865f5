import { serveAgents } from '../../src/agent.ts'
import { setup } from '../../src/setup.ts'
import { legal, medical, router, technical } from './agents.ts'

export default serveAgents(setup, [legal, medical, technical, router])
