import { createRoot } from "react-dom/client";
import "./shell/mantine.css";
import "@mantine/notifications/styles.css";
import "virtual:theme.css";
import "./shell/base.css";
import { App } from "./shell/App";

const root = document.getElementById("root");
if (root !== null) createRoot(root).render(<App />);
