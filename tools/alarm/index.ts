import { serveTools } from '../../src/tool.ts'
import { cancelAlarm, listAlarms, setAlarm } from './tools.ts'

export { Alarms } from './alarms.ts'
export default serveTools(setAlarm, listAlarms, cancelAlarm)
