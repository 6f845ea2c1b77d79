/** Texts about the connections of commands: [English, Chinese]. */
export const connections = {
  "connections.lead": [
    "Hosts that commands connected to, newest first, including refused connections and the reason.",
    "命令所连接的主机，最新在前；包括被拒绝的连接及原因。",
  ],
  "connections.host": ["Host", "主机"],
  "connections.project_id": ["Project (ID)", "项目（编号）"],
  "connections.agent_id": ["Agent", "智能体"],
  "connections.session_id": ["Session", "会话"],
  "connections.operation_id": ["Call (ID)", "调用（编号）"],
  "connections.since": ["From", "起始时间"],
  "connections.until": ["Until", "截止时间"],
  "connections.duration": ["Duration", "持续时间"],
  "connections.call": ["Call", "调用"],
  "connections.empty": [
    "No connections yet. Commands of a project with allowed hosts are listed here.",
    "还没有连接。项目设有允许的主机后，其命令的连接会列在这里。",
  ],
  "connections.allow": ["Allow…", "允许…"],
  "connections.allow.title": ["Allow a host in project {name}", "在项目 {name} 中允许主机"],
  "connections.allow.added": [
    "{host} is added to the allowed hosts below. Save to allow it from the next command on.",
    "已将 {host} 加入下方允许的主机；保存后对下一条命令生效。",
  ],
  "connections.allow.listed": [
    "{host} is already among the allowed hosts of this project.",
    "{host} 已在此项目允许的主机之中。",
  ],
} as const satisfies Record<string, readonly [string, string?]>;
