int halyard_baseline_placeholder(void);
